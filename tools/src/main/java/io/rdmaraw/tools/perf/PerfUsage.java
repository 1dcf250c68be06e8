package io.rdmaraw.tools.perf;

import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Makes of what the options' own checks find a message about the usage: nothing has been tried yet. */
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
