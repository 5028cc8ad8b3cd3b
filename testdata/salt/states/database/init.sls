{% set db = pillar['database'] %}
folder:
  file.directory:
    - name: {{ pillar['folder'] }}/db
    - makedirs: True

say where the database is:
  grains.present:
    - name: database:url
    - value: mysql://{{ db.address }}:{{ db.port }}/{{ db.name }}

password:
  cmd.run:
    - name: od -An -N8 -tx1 /dev/urandom | tr -d ' \n'

configuration:
  file.managed:
    - name: {{ pillar['folder'] }}/db/my.cnf
    - source: salt://database/my.cnf.j2
    - template: jinja

the server:
  cmd.run:
    - name: touch {{ pillar['folder'] }}/db/running
    - creates: {{ pillar['folder'] }}/db/running
