blog:
  settings:
    title: The blog of {{ grains['kernel'] }}
