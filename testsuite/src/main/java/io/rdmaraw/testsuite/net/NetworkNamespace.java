package io.rdmaraw.testsuite.net;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;

/** A network namespace in which programs run: one created for a test, or the namespace of this process. Thread-safe. */
public final class NetworkNamespace implements AutoCloseable {
    private static final Duration RUN_LIMIT = Duration.ofSeconds(60);

    /** Null for the namespace of this process. */
    private final String name;
    private final List<PeerProcess> processes = new ArrayList<>();

    private NetworkNamespace(String name) {
        this.name = name;
    }

    /** Returns the namespace of this process. Closing it does not remove the namespace. */
    static NetworkNamespace current() {
        return new NetworkNamespace(null);
    }

    static NetworkNamespace create(int number) {
        String name = NetworkNames.namespace(number);
        Ip.run("netns", "add", name);
        NetworkNamespace namespace = new NetworkNamespace(name);
        try {
            namespace.run("ip", "link", "set", "dev", "lo", "up");
            namespace.takeFromAnyLink();
        } catch (Throwable e) {
            namespace.close();
            throw e;
        }
        return namespace;
    }

    /**
     * Disables the reverse path filter, which a new namespace inherits from the host. It would drop test packets that
     * use two links.
     */
    private void takeFromAnyLink() {
        attempt("sh", "-c", "for each in all default lo; do echo 0 > /proc/sys/net/ipv4/conf/$each/rp_filter; done");
    }

    /** Returns the names of all named namespaces on the host. Lines read "name (id: 3)". */
    static List<String> list() {
        return Ip.attempt("netns", "list").output().lines().map(line -> line.split(" ")[0])
                .filter(line -> !line.isEmpty()).toList();
    }

    /** Returns the name for {@code ip netns exec}, or "this process's" for the namespace of this process. */
    public String name() {
        return name == null ? "this process's" : name;
    }

    /** Returns whether this is the namespace of this process. */
    public boolean isCurrent() {
        return name == null;
    }

    /**
     * Runs a program and waits until it exits, for at most a minute.
     *
     * @throws IllegalStateException if it fails; the message contains its output
     */
    public CommandResult run(String... command) {
        return attempt(command).orThrow();
    }

    /** Same as {@link #run}, but returns the result if the program fails. */
    public CommandResult attempt(String... command) {
        return PeerProcess.run(inside(command), RUN_LIMIT);
    }

    /** Starts a program, which runs until it or the namespace is closed. */
    public PeerProcess start(String... command) {
        PeerProcess process = new PeerProcess(inside(command));
        synchronized (processes) {
            processes.add(process);
        }
        return process;
    }

    private List<String> inside(String... command) {
        List<String> whole = new ArrayList<>();
        if (name != null) {
            whole.addAll(List.of("ip", "netns", "exec", name));
        }
        whole.addAll(List.of(command));
        return whole;
    }

    /**
     * Returns a factory of threads in this namespace, for instance for an event loop group. Sockets opened by these
     * threads belong to the namespace, even if other threads use them later.
     */
    public ThreadFactory threadFactory() {
        return task -> new Thread(() -> {
            enter();
            task.run();
        }, "in " + name());
    }

    /** Runs a task on a separate thread in this namespace and waits for the result. */
    public <T> T call(Callable<T> task) throws Exception {
        FutureTask<T> future = new FutureTask<>(task);
        threadFactory().newThread(future).start();
        try {
            return future.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw e;
        }
    }

    private void enter() {
        if (name != null) {
            NamespaceThreads.enter("/run/netns/" + name);
        }
    }

    /** Ends the programs that were started in the namespace, then removes it with all its interfaces. */
    @Override
    public void close() {
        List<PeerProcess> toEnd;
        synchronized (processes) {
            toEnd = List.copyOf(processes);
            processes.clear();
        }
        toEnd.forEach(PeerProcess::close);
        if (name != null && list().contains(name)) {
            Ip.run("netns", "del", name);
        }
    }

    @Override
    public String toString() {
        return name();
    }
}
