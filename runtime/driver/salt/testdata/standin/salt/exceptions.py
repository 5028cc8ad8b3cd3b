class SaltException(Exception):
    pass


class CommandExecutionError(SaltException):
    pass


class SaltRenderError(SaltException):
    pass
