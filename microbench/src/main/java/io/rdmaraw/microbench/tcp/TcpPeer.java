package io.rdmaraw.microbench.tcp;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.run.JavaCommand;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A process that runs {@link TcpPeerCommand}, as seen by the bench. */
final class TcpPeer implements AutoCloseable {
    /** Where other programs have the cores, a process takes most of a minute to start. */
    private static final Duration LIMIT = Duration.ofMinutes(3);
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final PeerProcess process;
    private int answers;

    private TcpPeer(PeerProcess process) {
        this.process = process;
    }

    /**
     * Starts a process.
     *
     * @param prefix  what its command begins with, such as {@code taskset -c 1}
     * @param options of {@link TcpPeerCommand}
     */
    static TcpPeer start(NetworkNamespace namespace, List<String> prefix, Transport transport, String... options) {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(JavaCommand.of("io.rdmaraw.microbench.Main"));
        command.addAll(List.of("bench", "tcp-peer", "--transport", transport.name()));
        command.addAll(List.of(options));
        return new TcpPeer(namespace.start(command.toArray(String[]::new)));
    }

    long pid() {
        return process.pid();
    }

    /** Sends a command to the process and returns its answer. */
    JsonNode ask(String what) {
        try {
            process.send(what + '\n');
            int expected = ++answers;
            Await.until("an answer to '" + what + '\'', LIMIT, () -> hasAnswered(expected));
        } catch (AssertionError | UncheckedIOException e) {
            throw new ToolException(e.getMessage() + ' ' + process.output().strip(), e);
        }
        try {
            return MAPPER.readTree(lines().get(answers - 1));
        } catch (JsonProcessingException e) {
            throw new ToolException("not an answer: " + lines().get(answers - 1), e);
        }
    }

    private boolean hasAnswered(int expected) {
        boolean ended = !process.isAlive();
        if (lines().size() >= expected) {
            return true;
        }
        if (ended) {
            throw new ToolException("the process ended: " + process.output().strip());
        }
        return false;
    }

    private List<String> lines() {
        String output = process.output();
        return output.substring(0, output.lastIndexOf('\n') + 1).lines().filter(line -> line.startsWith("{")).toList();
    }

    @Override
    public void close() {
        process.close();
    }
}
