package io.rdmaraw.microbench.process;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.tools.command.ToolException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;

/**
 * A process that a bench controls. Each line of its input is a command, and it answers each command with one line of
 * JSON.
 */
public class JsonPeer implements AutoCloseable {
    /** Time limit for an answer. On a machine with busy cores a process may need most of a minute to start. */
    private static final Duration LIMIT = Duration.ofMinutes(3);
    private static final Pattern EXCEPTION = Pattern.compile("^\\S*(Exception|Error)\\b|in thread \"");
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final PeerProcess process;
    private int answers;

    /** @param process process that prints the answers, possibly between log lines */
    public JsonPeer(PeerProcess process) {
        this.process = process;
    }

    public final long pid() {
        return process.pid();
    }

    /**
     * Sends a command to the process and returns its answer.
     *
     * @throws ToolException if the process ends, or does not answer within three minutes
     */
    public final JsonNode ask(String what) {
        try {
            process.send(what + '\n');
            int expected = ++answers;
            Await.until("an answer to '" + what + '\'', LIMIT, () -> hasAnswered(expected));
        } catch (AssertionError | UncheckedIOException e) {
            throw new ToolException(e.getMessage() + ' ' + said(), e);
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
            throw new ToolException("the process ended: " + said());
        }
        return false;
    }

    private String said() {
        return reasonIn(process.output());
    }

    /**
     * Returns the reason why a process ended, from its output. This is the line of the first exception, which contains
     * the remedy, or else the last line that is not an answer.
     */
    static String reasonIn(String output) {
        List<String> lines = output.lines().filter(line -> !line.isBlank() && !line.startsWith("{")).toList();
        return lines.stream().filter(line -> EXCEPTION.matcher(line).find()).findFirst()
                .orElse(lines.isEmpty() ? "it said nothing" : lines.getLast());
    }

    private List<String> lines() {
        String output = process.output();
        return output.substring(0, output.lastIndexOf('\n') + 1).lines().filter(line -> line.startsWith("{")).toList();
    }

    @Override
    public final void close() {
        process.close();
    }
}
