package io.rdmaraw.microbench.wire;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.microbench.process.ThreadAffinity;
import io.rdmaraw.tools.run.AllocationMeter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * The process that {@link WireBench} starts at the near end of the wire. Each transport has a separate process, so that
 * transports do not share JIT-compiled code. Each line of the input is a command, and the process answers it with one
 * line. It ends when its input ends. The commands are:
 * <ul>
 * <li>{@code open} and {@code close}: open and close the channel
 * <li>{@code alloc}: bytes that the event loop has allocated since the last such command
 * <li>{@code compiled}: milliseconds that the JIT compiler has used so far
 * <li>{@code rules N}: median nanoseconds to add and remove a rule, of N rules
 * </ul>
 */
@Command(name = "wire-server", hidden = true,
        description = "An echo server of bench wire, told what to do by its input.")
public final class WireServerCommand implements Callable<Integer> {
    @Option(names = "--transport", required = true)
    private WireTransport transport;

    @Option(names = "--interface", required = true)
    private String networkInterface;

    @Option(names = "--address", required = true)
    private String address;

    @Option(names = "--port", required = true)
    private int port;

    @Option(names = "--core", required = true)
    private int core;

    @Spec
    private CommandSpec spec;

    private EventLoopGroup group;
    private Channel channel;
    private AllocationMeter allocations;

    @Override
    public Integer call() throws IOException, InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                out.println(obey(line.split(" ")));
                out.flush();
            }
        }
        close();
        return 0;
    }

    private String obey(String[] words) throws InterruptedException {
        switch (words[0]) {
            case "open" -> open();
            case "close" -> close();
            case "rules" -> {
                return "done " + RuleCost.medianNanos(transport.deviceOn(networkInterface), address,
                        Integer.parseInt(words[1]));
            }
            case "compiled" -> {
                return "done " + ManagementFactory.getCompilationMXBean().getTotalCompilationTime();
            }
            case "alloc" -> {
                long bytes = allocations.bytes();
                allocations.start();
                return "done " + bytes;
            }
            default -> throw new IllegalArgumentException("unknown word " + words[0]);
        }
        return "done";
    }

    private void open() throws InterruptedException {
        group = transport.newGroup(networkInterface);
        group.submit(() -> ThreadAffinity.pinTo(core)).sync();
        Thread loop = group.submit(Thread::currentThread).sync().getNow();
        allocations = new AllocationMeter(List.of(loop));
        channel = transport.bind(group, networkInterface, new InetSocketAddress(address, port));
    }

    private void close() {
        if (group != null) {
            channel.close().syncUninterruptibly();
            group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
            group = null;
        }
    }
}
