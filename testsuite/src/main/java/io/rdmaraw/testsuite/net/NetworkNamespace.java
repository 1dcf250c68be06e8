package io.rdmaraw.testsuite.net;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;

/**
 * A place to run programs: a network namespace of the test's own, or the one that this process lives in. Thread-safe.
 */
public final class NetworkNamespace implements AutoCloseable {
    private static final Duration RUN_LIMIT = Duration.ofSeconds(60);

    /** Null for the namespace that this process lives in. */
    private final String name;
    private final List<PeerProcess> processes = new ArrayList<>();

    private NetworkNamespace(String name) {
        this.name = name;
    }

    /** The namespace of this process, which nobody made and closing does not remove. */
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

    /** A new namespace has the host's filter of reverse paths, which would drop what the tests send by two links. */
    private void takeFromAnyLink() {
        attempt("sh", "-c", "for each in all default lo; do echo 0 > /proc/sys/net/ipv4/conf/$each/rp_filter; done");
    }

    /** Names of all namespaces of the host that have one. Lines read "name (id: 3)". */
    static List<String> list() {
        return Ip.attempt("netns", "list").output().lines().map(line -> line.split(" ")[0])
                .filter(line -> !line.isEmpty()).toList();
    }

    /** The name that {@code ip netns exec} takes, or "this process's" for the namespace of this process. */
    public String name() {
        return name == null ? "this process's" : name;
    }

    /** Whether this is the namespace that the test process itself lives in. */
    public boolean isCurrent() {
        return name == null;
    }

    /**
     * Runs a program to its end, at most a minute.
     *
     * @throws IllegalStateException if it fails; the message holds its output
     */
    public CommandResult run(String... command) {
        return attempt(command).orThrow();
    }

    /** As {@link #run}, but a failure is only a result. */
    public CommandResult attempt(String... command) {
        return PeerProcess.run(inside(command), RUN_LIMIT);
    }

    /** Starts a program that runs until it is closed, at the latest when the namespace is. */
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
     * Makes threads that live in this namespace: sockets they open belong to it, from whatever thread they are used
     * later. Give it to an event loop group, for instance.
     */
    public ThreadFactory threadFactory() {
        return task -> new Thread(() -> {
            enter();
            task.run();
        }, "in " + name());
    }

    /** Runs a task on a thread of its own in this namespace and waits for the result. */
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

    /** Ends the programs that were started here, then removes the namespace with all its interfaces. */
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
