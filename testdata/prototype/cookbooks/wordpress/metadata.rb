name "wordpress"
version "1.0.0"
depends "base"
