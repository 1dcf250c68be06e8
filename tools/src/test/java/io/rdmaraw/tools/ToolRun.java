package io.rdmaraw.tools;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** The output and exit code of a command. */
public record ToolRun(int exitCode, String out, String err) {
    public static ToolRun of(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine commandLine = Main.commandLine();
        commandLine.setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
        return new ToolRun(commandLine.execute(arguments), out.toString(), err.toString());
    }

    /** Parses the last line of the output, which must be a JSON object. */
    public JsonNode json() throws Exception {
        return new ObjectMapper().readTree(out.strip().lines().reduce((first, second) -> second).orElseThrow());
    }
}
