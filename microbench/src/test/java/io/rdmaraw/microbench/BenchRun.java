package io.rdmaraw.microbench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** What a command printed and how it ended. */
public record BenchRun(int exitCode, String out, String err) {
    public static BenchRun of(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine commandLine = Main.commandLine();
        commandLine.setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
        return new BenchRun(commandLine.execute(arguments), out.toString(), err.toString());
    }

    /** The last line, which must be one JSON object. */
    public JsonNode json() throws Exception {
        return new ObjectMapper().readTree(out.strip().lines().reduce((first, second) -> second).orElseThrow());
    }
}
