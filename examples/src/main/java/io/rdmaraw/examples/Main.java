package io.rdmaraw.examples;

import io.rdmaraw.examples.dns.DnsServer;
import io.rdmaraw.examples.http.Http2Server;
import io.rdmaraw.examples.http.Http3Server;
import io.rdmaraw.examples.http.HttpServer;
import io.rdmaraw.examples.kv.KeyValueServer;
import io.rdmaraw.examples.server.ExampleException;
import io.rdmaraw.examples.tcp.EchoServer;
import io.rdmaraw.examples.tcp.ProxyServer;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.io.IOException;

/** Runs one of the servers. The launcher {@code rdma-raw example} starts it. */
@Command(name = "example", mixinStandardHelpOptions = true, synopsisSubcommandLabel = "NAME",
        subcommands = {EchoServer.class, HttpServer.class, Http2Server.class, Http3Server.class, DnsServer.class,
                KeyValueServer.class, ProxyServer.class},
        description = "Runs a server on one of Netty's transports.")
public final class Main implements Runnable {
    private static final int EXIT_FAILED = 1;

    @Spec
    private CommandSpec spec;

    private Main() {
    }

    public static void main(String[] args) {
        System.exit(commandLine().execute(args));
    }

    /** Returns the command line, for programs that run a server as part of theirs. */
    public static CommandLine commandLine() {
        CommandLine commandLine = new CommandLine(new Main());
        commandLine.setExecutionExceptionHandler((e, command, parsed) -> report(e, command));
        return commandLine;
    }

    /** What the user can put right is a sentence; anything else is our fault and shows where it happened. */
    private static int report(Exception e, CommandLine command) {
        if (e instanceof ExampleException || e instanceof IOException || e instanceof IllegalArgumentException
                || e instanceof UnsupportedOperationException) {
            command.getErr().println(command.getCommandName() + ": " + e.getMessage());
        } else {
            e.printStackTrace(command.getErr());
        }
        command.getErr().flush();
        return EXIT_FAILED;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "a name is missing");
    }
}
