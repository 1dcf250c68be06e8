package io.rdmaraw.channel;

import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.takeover.TakeoverMessage;
import io.rdmaraw.tcp.stack.ListeningPort;
import io.rdmaraw.tcp.stack.PortHandover;
import io.rdmaraw.tcp.stack.TcpStack;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A server channel's port, as a takeover sees it. Any thread. */
final class TakeoverPort {
    private static final String PACKET = "soft:packet:";
    private static final String XDP = "soft:xdp:";
    private static final String XDP_MODE = "SOFTVERBS_XDP_MODE";
    /** Neither process opens connections meanwhile. */
    private static final long LOOP_LIMIT_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final RdmaRawTakeover takeover;
    private final RdmaRawServerSocketChannel server;
    private final ListeningPort port;
    private final TakeoverMessage.Port description;

    TakeoverPort(RdmaRawTakeover takeover, RdmaRawServerSocketChannel server, ListeningPort port) {
        this.takeover = takeover;
        this.server = server;
        this.port = port;
        TcpNetwork.Binding binding = port.binding();
        description = new TakeoverMessage.Port(server.ioHandler().config().ipDevice(), binding.local(),
                binding.port());
    }

    /** Returns how a port is called between processes. */
    static TakeoverMessage.Port describe(String device, InetSocketAddress local) {
        return new TakeoverMessage.Port(device, IpAddress.of(local.getAddress()), local.getPort());
    }

    /** Returns what two processes have by a port. */
    static PortHandover.Shared shared(TakeoverMessage.Port port) {
        return new PortHandover.Shared(port.local(), port.number());
    }

    /**
     * Refuses what two processes cannot have at a time.
     *
     * @throws IOException with what they can have
     */
    static void requireSharable(String device, TcpNetwork network, RdmaRawServerSocketChannelConfig config)
            throws IOException {
        boolean shared = device.startsWith(PACKET) || device.startsWith(XDP) && "tap".equals(System.getenv(XDP_MODE));
        if (!shared) {
            throw new IOException("two processes cannot have " + device + " at a time, so its ports are not taken over:"
                    + " use " + PACKET + "NETDEV, or " + XDP + "NETDEV with " + XDP_MODE + "=tap");
        }
        if (!network.isKernelServed()) {
            throw new IOException("the ports of an address of our own are not taken over, as two processes cannot both "
                    + "have it: use the kernel's addresses");
        }
        if (config.isReusePort()) {
            throw new IOException("a port with SO_REUSEPORT is not taken over: let the loops of one group serve it");
        }
    }

    TakeoverMessage.Port description() {
        return description;
    }

    List<TcpStack> stacks() {
        return port.stacks();
    }

    /** Returns a descriptor of the kernel's socket on the port, which is the caller's. */
    int kernelDescriptor() throws IOException {
        return server.kernelDescriptor();
    }

    /**
     * Leaves the port's segments to the successor too, or has them alone again. AF_PACKET gives each process a copy by
     * itself.
     */
    void share(boolean shared) {
        if (!description.device().startsWith(PACKET)) {
            port.share(shared);
        }
    }

    /**
     * Waits for what event loops do, but not for ever: a handler may block one.
     *
     * @throws IOException when they have not done it in time, or it has failed
     */
    static void await(CompletableFuture<?> done) throws IOException {
        await(done, LOOP_LIMIT_NANOS);
    }

    static void await(CompletableFuture<?> done, long limitNanos) throws IOException {
        try {
            done.get(limitNanos, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new IOException("an event loop of this process has done nothing for "
                    + TimeUnit.NANOSECONDS.toSeconds(limitNanos) + " s: a handler blocks it", e);
        } catch (ExecutionException e) {
            throw new IOException("an event loop of this process has failed: " + e.getCause().getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while an event loop was waited for");
        }
    }

    private interface Step {
        void run() throws IOException;
    }

    private CompletableFuture<Void> onLoop(Step step) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        server.onLoop(() -> {
            try {
                step.run();
                done.complete(null);
            } catch (IOException | RuntimeException e) {
                done.completeExceptionally(new CompletionException(e));
            }
        }, () -> done.complete(null));
        return done;
    }

    /** The successor accepts what the kernel has for the port. */
    CompletableFuture<Void> suspend() {
        return onLoop(server::suspendKernel);
    }

    /** Accepts what the kernel has again. */
    CompletableFuture<Void> resume() {
        return onLoop(server::resumeKernel);
    }

    /** Counts the connections that live by the port, those that the kernel carries too. */
    CompletableFuture<Integer> connectionCount() {
        return port.connectionCount().thenApply(count -> count + server.kernelConnections());
    }

    /** The server listens no more. */
    void withdraw() {
        takeover.remove(this);
    }
}
