name "ring"
