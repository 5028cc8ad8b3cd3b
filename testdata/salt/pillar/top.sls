base:
  '*':
    - blog
