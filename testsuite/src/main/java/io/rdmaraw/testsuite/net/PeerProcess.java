package io.rdmaraw.testsuite.net;

import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A program that runs concurrently with the test. Its output is collected while it runs. Closing ends the program.
 * Thread-safe.
 */
public final class PeerProcess implements AutoCloseable {
    private static final Duration END_LIMIT = Duration.ofSeconds(5);
    private static final Duration OUTPUT_LIMIT = Duration.ofSeconds(20);

    private final List<String> command;
    private final Process process;
    private final Thread collector;
    private final StringBuilder output = new StringBuilder();

    PeerProcess(List<String> command) {
        this.command = List.copyOf(command);
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot run " + command.getFirst() + ": is it installed?", e);
        }
        collector = Thread.ofPlatform().daemon().name("output of " + command.getFirst()).start(this::collect);
    }

    /** Runs a program until it exits. */
    static CommandResult run(List<String> command, Duration limit) {
        try (PeerProcess process = new PeerProcess(command)) {
            process.closeInput();
            return process.await(limit);
        }
    }

    private void collect() {
        char[] chunk = new char[4096];
        try (Reader reader = new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)) {
            for (int n = reader.read(chunk); n >= 0; n = reader.read(chunk)) {
                synchronized (output) {
                    output.append(chunk, 0, n);
                }
            }
        } catch (IOException closedByTheEndOfTheProcess) {
            // The output received so far is kept.
        }
    }

    private void closeInput() {
        try {
            process.getOutputStream().close();
        } catch (IOException alreadyEnded) {
            // The program has already exited.
        }
    }

    public long pid() {
        return process.pid();
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** Returns the output so far, with standard output and standard error interleaved. */
    public String output() {
        synchronized (output) {
            return output.toString();
        }
    }

    /** Writes to the standard input of the program. */
    public void send(String text) {
        try {
            process.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits until the output contains a text. Fails if the program exits before. */
    public void awaitOutput(String text, Duration limit) {
        Await.until('\'' + text + "' from " + String.join(" ", command), limit, () -> {
            boolean ended = !process.isAlive() && !collector.isAlive();
            if (output().contains(text)) {
                return true;
            }
            if (ended) {
                throw new AssertionError(String.join(" ", command) + " ended with " + process.exitValue()
                        + " before it printed '" + text + "': " + output().strip());
            }
            return false;
        });
    }

    /** Waits until the program exits. */
    public CommandResult await(Duration limit) {
        try {
            if (!process.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new IllegalStateException(
                        String.join(" ", command) + " did not end within " + limit + ": " + output().strip());
            }
            // A grandchild that keeps the pipe open must not block the test.
            collector.join(OUTPUT_LIMIT);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for " + command.getFirst(), e);
        }
        return new CommandResult(command, process.exitValue(), output());
    }

    /** Ends the program and its descendants, first with SIGTERM, then with SIGKILL. */
    @Override
    public void close() {
        List<ProcessHandle> children = process.descendants().toList();
        process.destroy();
        try {
            if (!process.waitFor(END_LIMIT.toNanos(), TimeUnit.NANOSECONDS)) {
                process.destroyForcibly().waitFor();
            }
            children.forEach(ProcessHandle::destroyForcibly);
            collector.join(END_LIMIT);
        } catch (InterruptedException e) {
            process.destroyForcibly();
            children.forEach(ProcessHandle::destroyForcibly);
            Thread.currentThread().interrupt();
        }
    }
}
