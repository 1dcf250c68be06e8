package io.rdmaraw.testsuite.net;

import java.util.List;

/**
 * What a program that has ended has said.
 *
 * @param output standard output and standard error, in the order they came
 */
public record CommandResult(List<String> command, int exitCode, String output) {
    /** This result, if the program succeeded. */
    public CommandResult orThrow() {
        if (exitCode != 0) {
            throw new IllegalStateException(
                    String.join(" ", command) + " ended with " + exitCode + ": " + output.strip());
        }
        return this;
    }
}
