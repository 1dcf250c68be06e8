package io.rdmaraw.testsuite.net;

import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A program that runs beside the test. Its output is collected while it runs; closing ends it. Thread-safe. */
public final class PeerProcess implements AutoCloseable {
    private static final Duration END_LIMIT = Duration.ofSeconds(5);

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

    /** Runs a program to its end. */
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
            // What came until then is kept.
        }
    }

    private void closeInput() {
        try {
            process.getOutputStream().close();
        } catch (IOException alreadyEnded) {
            // Then there is no one to miss the end of the input.
        }
    }

    public long pid() {
        return process.pid();
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** What it has printed until now, standard output and error together. */
    public String output() {
        synchronized (output) {
            return output.toString();
        }
    }

    /** Writes to its standard input. */
    public void send(String text) {
        try {
            process.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns as soon as the output contains a text. Fails when the program ends without it. */
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

    /** Waits for the program's own end. */
    public CommandResult await(Duration limit) {
        try {
            if (!process.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new IllegalStateException(
                        String.join(" ", command) + " did not end within " + limit + ": " + output().strip());
            }
            // A grandchild that holds the pipe open must not hang the test.
            collector.join(END_LIMIT);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for " + command.getFirst(), e);
        }
        return new CommandResult(command, process.exitValue(), output());
    }

    /** Ends the program and what it started: asks first, then forces. */
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
