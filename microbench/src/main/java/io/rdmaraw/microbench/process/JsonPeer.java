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

/** A process that a bench asks: each line of its input is a command, and it answers each by one line of JSON. */
public class JsonPeer implements AutoCloseable {
    /** Where other programs have the cores, a process takes most of a minute to start. */
    private static final Duration LIMIT = Duration.ofMinutes(3);
    private static final Pattern EXCEPTION = Pattern.compile("^\\S*(Exception|Error)\\b|in thread \"");
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final PeerProcess process;
    private int answers;

    /** @param process whose output is its answers, with lines of a log beside */
    public JsonPeer(PeerProcess process) {
        this.process = process;
    }

    public final long pid() {
        return process.pid();
    }

    /**
     * Sends a command to the process and returns its answer.
     *
     * @throws ToolException when it ends, or does not answer in three minutes
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
     * Returns what the output of a process that has ended says of the reason: an exception, which has the remedy, or
     * the last line that is no answer.
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
