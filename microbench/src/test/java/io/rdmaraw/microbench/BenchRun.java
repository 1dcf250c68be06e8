package io.rdmaraw.microbench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** The exit code and the output of a command. */
public record BenchRun(int exitCode, String out, String err) {
    public static BenchRun of(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine commandLine = Main.commandLine();
        commandLine.setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
        return new BenchRun(commandLine.execute(arguments), out.toString(), err.toString());
    }

    /** Returns the last line of the output, which must be one JSON object. */
    public JsonNode json() throws Exception {
        return new ObjectMapper().readTree(out.strip().lines().reduce((first, second) -> second).orElseThrow());
    }
}
