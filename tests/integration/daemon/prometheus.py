"""Asks a Prometheus: prometheus.py ADDRESS has EXPRESSION | rules | board FILE | alerts | alert NAME STATE | near A B TIMES."""
import json
import sys
import urllib.error
import urllib.parse
import urllib.request


def get(address, path, **values):
    url = f'http://{address}/api/v1/{path}?{urllib.parse.urlencode(values)}'
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)['data']
    except urllib.error.HTTPError as e:
        sys.exit(f'{values}: {json.load(e)["error"]}')
    except OSError as e:
        sys.exit(f'{address}: {e}')


def result(address, expression):
    return get(address, 'query', query=expression)['result']


def alerts(address):
    return [(a['labels']['alertname'], a['state']) for a in get(address, 'alerts')['alerts']]


def rules(address):
    """All are evaluated, none with an error."""
    found = [r for g in get(address, 'rules')['groups'] for r in g['rules']]
    for r in found:
        if r['health'] != 'ok':
            sys.exit(f'{r["name"]}: {r["health"]} {r.get("lastError", "")}')
    return len(found) >= 8


# What only is there after something went wrong or on other ways: 'or vector(0)' stands for no thaw that fails.
MAY_BE_EMPTY = ('evictions', 'orders_timed_out')


def board(address, file):
    """Every question of every panel has an answer."""
    with open(file, encoding='utf-8') as f:
        panels = json.load(f)['panels']
    for panel in panels:
        for target in panel['targets']:
            e = target['expr'].replace('$instance', '.*').replace('$gpu', '.*').replace('$__rate_interval', '30s')
            if not result(address, e) and not any(word in e for word in MAY_BE_EMPTY):
                sys.exit(f'{panel["title"]}: no answer to {e}')
    return True


def near(address, a, b, times):
    x, y = (float(result(address, e)[0]['value'][1]) for e in (a, b))
    print(x, y)
    return y / float(times) <= x <= y * float(times)


def main():
    address, what, *rest = sys.argv[1:]
    if what == 'alerts':
        for name, state in alerts(address):
            print(name, state)
        return 0
    done = {'has': lambda: bool(result(address, *rest)), 'rules': lambda: rules(address),
            'board': lambda: board(address, *rest), 'near': lambda: near(address, *rest),
            'alert': lambda: tuple(rest) in alerts(address)}[what]()
    return 0 if done else 1


if __name__ == '__main__':
    sys.exit(main())
