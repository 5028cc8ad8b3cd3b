name 'site'
version '1.0.0'
