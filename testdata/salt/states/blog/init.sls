{% from 'blog/map.jinja' import blog with context %}
folder:
  file.directory:
    - name: {{ pillar['folder'] }}/web
    - makedirs: True

say where the site is:
  grains.present:
    - name: site_url
    - value: http://web:8080/

title:
  file.managed:
    - name: {{ pillar['folder'] }}/web/title
    - contents: {{ blog.title }} with {{ blog.workers }} workers

configuration:
  file.managed:
    - name: {{ pillar['folder'] }}/web/blog.conf
    - source: salt://blog/blog.conf.j2
    - template: jinja
