"""The command: read, train, find, write, and say what was found."""

import sys
import warnings
from collections.abc import Sequence

from sklearn_lec._cli.arguments import parser
from sklearn_lec._cli.errors import UnusableDataError
from sklearn_lec._cli.output import check_writable, lines_of_input, summary
from sklearn_lec._cli.samples import Samples

__all__ = ["main"]

FAILED, UNUSABLE, STOPPED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        None takes those of the process.

    Returns
    -------
    code : int
        0 if all went well, 1 if the training failed, 2 for data that cannot be used, 130 after Ctrl-C. Arguments that
        cannot be used end in a SystemExit with the code 2.
    """
    options = parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a label may have letters that the console has not
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("ignore" if options.quiet else "always", category=UserWarning)
            warnings.showwarning = _show_warning
            _find(options)
    except UnusableDataError as error:
        return _say_error(error, UNUSABLE)
    except (ValueError, TypeError, RuntimeError, OSError, MemoryError) as error:
        return _say_error(error, FAILED)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return STOPPED
    return 0


def _find(options) -> None:
    """Find the issues, and write them."""
    if not options.path.exists():
        raise UnusableDataError(f"there is no file or folder {options.path}.")
    check_writable(options.output, of_input=options.path, option="--output")
    if options.report is not None:
        check_writable(options.report, of_input=options.path, option="--report")
    samples = _read(options)
    if not options.quiet:
        print(*samples.notes, sep="\n", file=sys.stderr)
    fitted = _trained(samples)

    from sklearn_lec import inspection

    issues = inspection.find_label_issues(fitted, samples.X, samples.y)
    lines = lines_of_input(issues, samples)
    lines.to_csv(options.output, index=False)
    written = [f"{options.output} (all samples)"]
    if options.report is not None:
        inspection.report(
            fitted,
            samples.X,
            options.report,
            issues=issues.set_axis([samples.names[place] for place in samples.places], axis=0),
            display=samples.display,
            title=f"Which labels in {options.path.name} are wrong?",
        )
        written.append(f"{options.report} (open it in a browser)")
    if not options.quiet:
        print(summary(lines, n_judged=len(samples.y), names_of=samples.names_of))
        print(f"\nwritten: {', '.join(written)}")


def _read(options) -> Samples:
    """Read the samples from wherever they are."""
    from sklearn_lec import LECClassifier
    from sklearn_lec._training.copies import FinishedEpochs

    classifier = LECClassifier(
        method=options.method,
        eps=options.eps,
        max_epochs=options.epochs,
        device=options.device,
        random_state=options.seed,
        verbose=0 if options.quiet else 1,
        callbacks=[("finished_epochs", FinishedEpochs())],
        callbacks__print_log=None,  # a table of epochs is for those who train networks
    )
    if options.path.is_dir():
        from sklearn_lec._cli.images import samples_of_folder

        if options.label is not None:
            raise UnusableDataError("--label is for tables. The labels of images are the names of their folders.")
        return samples_of_folder(options.path, classifier, size=options.image_size)

    from sklearn_lec._cli.tables import samples_of_table

    return samples_of_table(
        options.path,
        classifier,
        label=options.label,
        delimiter=options.delimiter,
        text_columns=options.text_columns,
        drop_columns=options.drop_columns,
    )


def _trained(samples: Samples):
    """Train; a training that was stopped before its end has no result."""
    estimator = samples.estimator.fit(samples.X, samples.y)
    classifier = estimator[-1] if hasattr(estimator, "steps") else estimator
    # skorch takes Ctrl-C for the wish to go on with what there is.
    if dict(classifier.callbacks_)["finished_epochs"].n_epochs_ < classifier.max_epochs:
        raise KeyboardInterrupt
    return estimator


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    """Show a warning as a line; where in the code it came from says nothing to users of a command."""
    print(f"warning: {message}", file=sys.stderr)


def _say_error(error: BaseException, code: int) -> int:
    print(f"error: {str(error).strip() or type(error).__name__}", file=sys.stderr)
    return code
