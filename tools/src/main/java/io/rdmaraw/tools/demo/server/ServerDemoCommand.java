package io.rdmaraw.tools.demo.server;

import io.rdmaraw.tools.command.ExitCode;
import io.rdmaraw.tools.demo.server.ServerDemo.ClientRequests;
import java.util.concurrent.Callable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The options shared by the server demos. */
abstract class ServerDemoCommand implements Callable<Integer> {
    @Option(names = "--loop", description = "on the loop device, as without root")
    private boolean loop;

    @Option(names = {"-p", "--port"}, paramLabel = "PORT", description = "where the server listens")
    private Integer port;

    @Spec
    private CommandSpec spec;

    /** Returns the default port of the server. */
    abstract int defaultPort();

    /** Returns the requests of the clients. */
    abstract ClientRequests requests();

    @Override
    public final Integer call() {
        ServerDemo demo = new ServerDemo(spec.commandLine().getOut(), spec.name(),
                port == null ? defaultPort() : port);
        boolean right = loop || !ServerDemo.isRoot() ? demo.onLoop(requests()) : demo.onVeth(requests());
        return right ? 0 : ExitCode.FAILED;
    }
}
