package io.rdmaraw.host.kernel;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.socket.IcmpSocket;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Receives ICMP errors about the TCP segments of one network namespace. A thread reads raw sockets, because the kernel
 * does not know the connections and so cannot deliver the errors. Each error is passed to all stacks, because
 * connections may have moved. Thread-safe.
 */
final class KernelIcmpReader {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(KernelIcmpReader.class);
    private static final Map<String, KernelIcmpReader> BY_NAMESPACE = new HashMap<>();

    private final List<PortOwner> stacks = new CopyOnWriteArrayList<>();

    private KernelIcmpReader() {
    }

    /**
     * Returns the instance for the network namespace of the calling thread. It is created on first use and never
     * removed.
     */
    static KernelIcmpReader ofCallingThread() throws IOException {
        String namespace = Files.readSymbolicLink(Path.of("/proc/thread-self/ns/net")).toString();
        synchronized (BY_NAMESPACE) {
            KernelIcmpReader instance = BY_NAMESPACE.get(namespace);
            if (instance == null) {
                instance = new KernelIcmpReader();
                instance.start();
                BY_NAMESPACE.put(namespace, instance);
            }
            return instance;
        }
    }

    private void start() {
        IcmpSocket socket;
        try {
            socket = new IcmpSocket();
        } catch (IOException e) {
            LOGGER.warn("cannot receive ICMP errors ({}): unreachable peers and small path MTUs show only as"
                    + " time-outs. Grant CAP_NET_RAW to the process", e.getMessage());
            return;
        }
        Thread thread = new Thread(() -> run(socket), "rdma-raw-icmp");
        thread.setDaemon(true);
        thread.start();
    }

    private void run(IcmpSocket socket) {
        try (socket; FdWaiter waiter = new FdWaiter(socket.fd(), socket.fdv6())) {
            while (true) {
                waiter.await(-1);
                socket.poll(this::dispatch);
            }
        } catch (IOException e) {
            LOGGER.warn("ICMP errors are no longer received: unreachable peers and small path MTUs show only as"
                    + " time-outs", e);
        }
    }

    private void dispatch(IcmpError error) {
        stacks.forEach(stack -> stack.onIcmpError(error));
    }

    void add(PortOwner stack) {
        stacks.add(stack);
    }

    void remove(PortOwner stack) {
        stacks.remove(stack);
    }
}
