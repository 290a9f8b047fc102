"""How the benchmark compiles and calls our kernels: the one place that knows."""

import intent


def compile_row(row, compiler=None):
    """The artifact of a row, or the exception that it ended with."""
    try:
        return intent.compile(
            row.kernel, compiler=compiler, target=intent.CudaTarget(), constexprs=row.constexprs
        )
    except Exception as error:
        return error


def bind(artifact, inputs, output):
    """A function without arguments that puts one launch into torch's current stream: a prepared call."""
    return artifact.prepare(*inputs, outputs=(output,)).launch


def finish(artifact):
    """Waits for its launches, and raises what one of them reported."""
    artifact.synchronize()
