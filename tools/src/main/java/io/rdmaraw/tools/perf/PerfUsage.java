package io.rdmaraw.tools.perf;

import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Converts failures of the options' own checks to usage errors. */
final class PerfUsage {
    private PerfUsage() {
    }

    static void check(CommandLine commandLine, Runnable check) {
        checked(commandLine, () -> {
            check.run();
            return null;
        });
    }

    static <T> T checked(CommandLine commandLine, Supplier<T> check) {
        try {
            return check.get();
        } catch (IllegalArgumentException e) {
            throw new ParameterException(commandLine, e.getMessage(), e);
        }
    }
}
