package io.rdmaraw.testsuite.net;

import java.util.List;

/**
 * The result of a program that has exited.
 *
 * @param output standard output and standard error, interleaved
 */
public record CommandResult(List<String> command, int exitCode, String output) {
    /**
     * Returns this result.
     *
     * @throws IllegalStateException if the program failed
     */
    public CommandResult orThrow() {
        if (exitCode != 0) {
            throw new IllegalStateException(
                    String.join(" ", command) + " ended with " + exitCode + ": " + output.strip());
        }
        return this;
    }
}
