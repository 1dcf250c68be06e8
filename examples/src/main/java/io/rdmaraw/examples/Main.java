package io.rdmaraw.examples;

import io.netty.util.Version;
import io.rdmaraw.channel.RdmaRaw;
import io.rdmaraw.examples.dns.DnsServer;
import io.rdmaraw.examples.http.Http2Server;
import io.rdmaraw.examples.http.Http3Server;
import io.rdmaraw.examples.http.HttpServer;
import io.rdmaraw.examples.kv.KeyValueServer;
import io.rdmaraw.examples.server.ExampleException;
import io.rdmaraw.examples.tcp.EchoServer;
import io.rdmaraw.examples.tcp.ProxyServer;
import io.rdmaraw.examples.websocket.WebSocketServer;
import io.rdmaraw.verbs.VerbsException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.NoSuchFileException;
import java.util.Map;
import java.util.stream.Stream;

/** The main class of the example servers, started by the launcher {@code rdma-raw example}. */
@Command(name = "rdma-raw example", mixinStandardHelpOptions = true, synopsisSubcommandLabel = "NAME",
        subcommands = {EchoServer.class, HttpServer.class, Http2Server.class, Http3Server.class, DnsServer.class,
                KeyValueServer.class, WebSocketServer.class, ProxyServer.class},
        description = "Runs a server on one of Netty's transports.")
public final class Main implements Runnable {
    private static final int EXIT_FAILED = 1;
    private static final int EXIT_USAGE = 2;
    private static final String EXIT_CODES = "%nExit codes: 0 well; 1 it failed; 2 wrong arguments; 130 interrupted.";

    @Spec
    private CommandSpec spec;

    private Main() {
    }

    public static void main(String[] args) {
        // Help texts use the width of the terminal, or picocli's 80 columns without one.
        System.exit(commandLine().setUsageHelpAutoWidth(true).execute(args));
    }

    /** Returns the command line, for programs that run a server themselves. */
    public static CommandLine commandLine() {
        CommandLine commandLine = new CommandLine(new Main());
        Stream.concat(Stream.of(commandLine), commandLine.getSubcommands().values().stream()).forEach(command -> {
            command.getCommandSpec().version(versions());
            command.getCommandSpec().usageMessage().footer(EXIT_CODES);
        });
        commandLine.setExecutionExceptionHandler((e, command, parsed) -> report(e, command));
        commandLine.setParameterExceptionHandler((e, arguments) -> refuse(e));
        return commandLine;
    }

    private static String[] versions() {
        return new String[] {"rdma-raw " + RdmaRaw.version(),
            "Netty " + Version.identify().get("netty-transport").artifactVersion()};
    }

    /** Prints the error and the command that shows the options. */
    private static int refuse(ParameterException e) {
        CommandLine command = e.getCommandLine();
        command.getErr().println(command.getCommandName() + ": " + message(e) + "; see ./"
                + command.getCommandSpec().qualifiedName() + " --help");
        command.getErr().flush();
        return EXIT_USAGE;
    }

    private static String message(ParameterException e) {
        Map<String, CommandLine> servers = e.getCommandLine().getSubcommands();
        return e instanceof UnmatchedArgumentException unknown && !servers.isEmpty() ? "there is no server '"
                + unknown.getUnmatched().getFirst() + "', but " + String.join(", ", servers.keySet()) : e.getMessage();
    }

    /**
     * Prints one sentence for errors that the user can correct. Any other failure is a defect and prints a stack trace.
     */
    private static int report(Exception e, CommandLine command) {
        if (e instanceof NoSuchFileException) {
            command.getErr().println(command.getCommandName() + ": there is no file " + e.getMessage());
        } else if (e instanceof ExampleException || e instanceof IOException || e instanceof IllegalArgumentException
                || e instanceof UnsupportedOperationException || e instanceof VerbsException) {
            command.getErr().println(command.getCommandName() + ": " + e.getMessage());
        } else if (e instanceof UncheckedIOException unchecked) {
            return report(unchecked.getCause(), command);
        } else {
            e.printStackTrace(command.getErr());
        }
        command.getErr().flush();
        return EXIT_FAILED;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "which server? there are: "
                + String.join(", ", spec.subcommands().keySet()));
    }
}
