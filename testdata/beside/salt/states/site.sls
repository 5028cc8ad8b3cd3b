/srv/beside:
  file.directory: [{mode: '0750'}]

/srv/beside/banner:
  file.managed:
    - contents_pillar: site:banner
    - mode: '0600'

/srv/beside/app.conf:
  file.managed:
    - source: salt://app.conf.j2
    - template: jinja
    - context: {settings: {{ pillar['site']['settings'] | json }}}

{% for host in pillar['site']['hosts'] %}
/srv/beside/host-{{ host }}:
  file.managed:
    - contents: "{{ host }}:{{ salt['pillar.get']('site:port') + 1 }}"
{% endfor %}

/srv/beside/link:
  file.symlink: [{target: /srv/beside/app.conf}]

{% if pillar['site']['debug'] %}
/srv/beside/debug:
  file.touch: []
{% endif %}
