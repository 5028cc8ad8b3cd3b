"""The agent's side of the role, whose failures are Ansible's errors."""
import hotc_client
from ansible.errors import AnsibleError


class Failure(AnsibleError):
    """The agent refused, or ends this role. It has its own books about why."""


class Client(hotc_client.Client):
    failure = Failure
