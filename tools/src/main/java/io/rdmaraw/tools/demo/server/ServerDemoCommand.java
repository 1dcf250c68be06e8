package io.rdmaraw.tools.demo.server;

import io.rdmaraw.tools.ExitCode;
import io.rdmaraw.tools.demo.server.ServerDemo.Questions;
import java.util.concurrent.Callable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What the demos of servers have in common. */
abstract class ServerDemoCommand implements Callable<Integer> {
    @Option(names = "--loop", description = "on the loop device, as without root")
    private boolean loop;

    @Option(names = {"-p", "--port"}, paramLabel = "PORT", description = "where the server listens")
    private Integer port;

    @Spec
    private CommandSpec spec;

    /** Returns the port on which the server listens when none is asked for. */
    abstract int defaultPort();

    /** Returns what the clients ask. */
    abstract Questions questions();

    @Override
    public final Integer call() {
        ServerDemo demo = new ServerDemo(spec.commandLine().getOut(), spec.name(),
                port == null ? defaultPort() : port);
        boolean right = loop || !ServerDemo.isRoot() ? demo.onLoop(questions()) : demo.onVeth(questions());
        return right ? 0 : ExitCode.FAILED;
    }
}
