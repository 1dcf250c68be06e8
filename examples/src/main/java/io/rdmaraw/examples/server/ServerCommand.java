package io.rdmaraw.examples.server;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.examples.proxy.KernelBridge;
import picocli.CommandLine.Command;
import picocli.CommandLine.IDefaultValueProvider;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadFactory;
import java.util.function.Supplier;

/** The options, event loops and startup message shared by all servers. A server adds its bootstrap and its handlers. */
@Command(defaultValueProvider = ServerCommand.DefaultPort.class)
public abstract class ServerCommand implements Callable<Integer> {
    private static final int MAX_ATTEMPTS = 10;
    private static final int MIN_SLOT_BYTES = 64;

    @Spec
    private CommandSpec spec;

    @Option(names = "--transport", paramLabel = "T", defaultValue = "rdma-raw",
            converter = TransportNames.class, completionCandidates = TransportNames.class,
            description = "${COMPLETION-CANDIDATES}; default ${DEFAULT-VALUE}")
    private Transport transport;

    @Option(names = {"-d", "--device"}, paramLabel = "D", defaultValue = "soft:loop",
            description = "what rdma-raw runs on: see ./rdma-raw devinfo --list; default ${DEFAULT-VALUE}")
    private String device;

    @Option(names = "--slot-bytes", paramLabel = "N", defaultValue = "2048",
            description = "memory of a frame of rdma-raw, a power of two; a device with an MTU above 1500 wants more, "
                    + "16384 for 9000; default ${DEFAULT-VALUE}")
    private int slotBytes;

    @Option(names = "--address", paramLabel = "IP",
            description = "the address to listen on; default the first one of the device's interface, in memory"
                    + " 127.0.0.1")
    private String address;

    @Option(names = {"-p", "--port"}, paramLabel = "PORT",
            description = "the port to listen on, 0 for any that is free; default ${DEFAULT-VALUE}")
    private int port;

    @Option(names = "--threads", paramLabel = "N", defaultValue = "1",
            description = "event loops; default ${DEFAULT-VALUE}")
    private int threads;

    @Option(names = "--tuning", paramLabel = "T", split = ",", converter = Tuning.Names.class,
            completionCandidates = Tuning.Names.class, description = "settings of epoll or io_uring, separated by"
                    + " commas: ${COMPLETION-CANDIDATES}; default none")
    private Set<Tuning> tuning = Set.of();

    /** All groups created since the server was started. */
    private final List<EventLoopGroup> groups = new ArrayList<>();
    private ThreadFactory bossThreads;

    /** Provides the default port of each server. */
    static final class DefaultPort implements IDefaultValueProvider {
        @Override
        public String defaultValue(ArgSpec argument) {
            return argument instanceof OptionSpec option && option.longestName().equals("--port")
                    && argument.command().userObject() instanceof ServerCommand server
                    ? Integer.toString(server.defaultPort()) : null;
        }
    }

    /** Returns the default port. */
    protected abstract int defaultPort();

    /**
     * Opens the server's channels.
     *
     * @return the channels; the first one has the address that is shown to clients
     */
    protected abstract List<Channel> open(EventLoopGroup group, InetSocketAddress local) throws Exception;

    /** Returns the handover of ports to the next process, or null if the server does not support it. */
    protected RollingRestart rollingRestart() {
        return null;
    }

    private RollingRestart wantedRestart() {
        RollingRestart restart = rollingRestart();
        if (restart == null || !restart.isWanted()) {
            return null;
        }
        if (transport != Transport.RDMA_RAW) {
            throw new ExampleException("--takeover is for --transport " + Transport.RDMA_RAW);
        }
        return restart;
    }

    /** Returns the selected transport. */
    protected final Transport transport() {
        return transport;
    }

    /** Starts the server with event loops on threads of a factory. */
    public final RunningServer start(ThreadFactory threadFactory) throws Exception {
        tuning.stream().filter(each -> !each.isFor(transport)).findFirst().ifPresent(each -> {
            throw new ExampleException("--tuning " + each + " is for --transport " + each.transports());
        });
        Tuning.setProperties(tuning);
        Throwable cause = transport.unavailabilityCause();
        if (cause != null) {
            throw new ExampleException("the transport " + transport + " cannot be used here: " + cause.getMessage(),
                    cause);
        }
        InetSocketAddress local = local();
        RollingRestart restart = wantedRestart();
        bossThreads = threadFactory;
        groups.clear();
        EventLoopGroup group = restart == null ? transport.newGroup(threads, threadFactory, device, slotBytes, tuning)
                : new RdmaRawEventLoopGroup(threads, threadFactory, RdmaRawIoHandlerConfig.builder().device(device)
                        .slotBytes(slotBytes).takeover(restart.open()).build());
        groups.add(group);
        try {
            List<Channel> channels = open(group, local);
            if (restart != null) {
                restart.begin();
            }
            return new RunningServer(groups(), channels, restart);
        } catch (Throwable e) {
            groups.reversed().forEach(RunningServer::shutDown);
            if (restart != null) {
                restart.close();
            }
            throw e;
        }
    }

    private InetSocketAddress local() throws IOException {
        if (threads < 1 || port < 0 || port > 0xFFFF) {
            throw new ExampleException(threads < 1 ? "--threads must be 1 or more" : "--port must be 0 to 65535");
        }
        if (slotBytes < MIN_SLOT_BYTES || Integer.bitCount(slotBytes) != 1) {
            throw new ExampleException("--slot-bytes must be a power of two of " + MIN_SLOT_BYTES + " or more");
        }
        InetSocketAddress local = address != null ? new InetSocketAddress(address, port)
                : new InetSocketAddress(transport == Transport.RDMA_RAW ? DefaultAddress.of(device)
                        : InetAddress.getLoopbackAddress(), port);
        if (local.isUnresolved()) {
            throw new ExampleException("'" + address + "' is neither an IP address nor the name of one");
        }
        return local;
    }

    /**
     * Creates the bootstrap of a TCP listener.
     *
     * @param group event loops of the connections
     */
    protected ServerBootstrap newBootstrap(EventLoopGroup group) {
        return new ServerBootstrap().group(group);
    }

    /** Creates a group with one loop on the same device for accepting connections. It is shut down with the server. */
    protected final EventLoopGroup newBossGroup() {
        if (wantedRestart() != null) {
            // The listener of a boss group does not take part in the handover.
            throw new ExampleException("--takeover and --boss-group do not go together");
        }
        EventLoopGroup boss = transport.newGroup(1, bossThreads, device, slotBytes, tuning);
        groups.add(boss);
        return boss;
    }

    /** Returns the groups that the server has created. */
    public final List<EventLoopGroup> groups() {
        return List.copyOf(groups);
    }

    /** Opens a TCP listener. Its connections are distributed over the event loops. */
    protected final Channel listen(EventLoopGroup group, InetSocketAddress local, ChannelHandler connectionHandler)
            throws Exception {
        ServerBootstrap bootstrap = newBootstrap(group).channel(transport.serverSocketChannel())
                .childHandler(connectionHandler);
        Tuning.applyTo(bootstrap, tuning);
        for (int attempt = 1; ; attempt++) {
            Channel listener = bootstrap.bind(local).sync().channel();
            if (!transport.isInMemory(device)) {
                return listener;
            }
            try {
                KernelBridge.open(device, listener);
                return listener;
            } catch (Exception e) {
                listener.close().sync();
                // A port that is free in memory may be in use in the kernel. If any port is acceptable, try another
                // one.
                if (local.getPort() != 0 || !(e instanceof BindException) || attempt == MAX_ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    /** Opens a UDP channel for each event loop, all on the same port. */
    protected final List<Channel> bind(EventLoopGroup group, InetSocketAddress local,
            Supplier<ChannelHandler> newHandler) throws InterruptedException {
        Bootstrap bootstrap = new Bootstrap().group(group).channel(transport.datagramChannel());
        if (threads > 1) {
            bootstrap.option(transport.reusePort(), true);
        }
        Tuning.applyTo(bootstrap, transport, tuning);
        List<Channel> channels = new ArrayList<>();
        InetSocketAddress at = local;
        for (int i = 0; i < threads; i++) {
            Channel channel = bootstrap.clone().handler(newHandler.get()).bind(at).sync().channel();
            channels.add(channel);
            at = (InetSocketAddress) channel.localAddress();
        }
        return channels;
    }

    @Override
    public final Integer call() throws Exception {
        try (RunningServer server = start(new DefaultThreadFactory(spec.name()))) {
            InetSocketAddress at = server.address();
            spec.commandLine().getOut().println(spec.name() + " is listening on " + at.getAddress().getHostAddress()
                    + " port " + at.getPort() + " by " + transport
                    + (transport == Transport.RDMA_RAW ? " on " + device : ""));
            spec.commandLine().getOut().flush();
            if (server.awaitEnd()) {
                spec.commandLine().getOut().println(spec.name() + " has ended; the next process serves");
                return 0;
            }
        }
        // Only a signal ends the server normally. The exit code signals the failure to a supervisor.
        throw new ExampleException("the server's channel is closed: " + device
                + " is gone; start again when it is back");
    }
}
