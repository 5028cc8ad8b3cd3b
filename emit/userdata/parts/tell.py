import json, sys, time, urllib.request as u

boot, why = json.load(open(sys.argv[1])), sys.argv[2]
if not boot.get('signal'):
    sys.exit()
s = json.loads(boot['signal'])


def post(url, body, **headers):
    headers['Content-Type'] = 'application/json'
    return u.urlopen(u.Request(url, json.dumps(body).encode(), headers), timeout=60)


def tell():
    user = {'id': s['user_id'], 'password': s['password']}
    r = post(s['auth_url'].rstrip('/') + '/auth/tokens', {'auth': {
        'identity': {'methods': ['password'], 'password': {'user': user}},
        'scope': {'project': {'id': s['project_id']}}}})
    heat = [e['url'] for c in json.load(r)['token']['catalog'] if c['type'] == 'orchestration'
            for e in c['endpoints'] if e['interface'] == 'public'
            and s.get('region_name') in (None, '', e.get('region_id'), e.get('region'))][0]
    post('%s/stacks/%s/%s/resources/%s/signal' % (
        heat.rstrip('/'), boot['deployment'], boot['stack_id'], boot['signal_resource']),
        {'id': boot['server'], 'status': 'FAILURE', 'reason': boot['server'] + ': ' + why},
        **{'X-Auth-Token': r.headers['X-Subject-Token']})


for n in range(8):
    try:
        sys.exit(tell())
    except Exception as e:
        print('hotc: telling Heat: %a' % e, file=sys.stderr)
        time.sleep(min(2 ** n, 30))
sys.exit(1)
