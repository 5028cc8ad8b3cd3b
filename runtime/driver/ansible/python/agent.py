"""The client of the agent, whose failures are Ansible's errors."""
import hotc_client
from ansible.errors import AnsibleError


class Failure(AnsibleError):
    """The agent refused a request, or ends this role; it has recorded why."""


class Client(hotc_client.Client):
    failure = Failure
