package io.rdmaraw.testsuite.tcp;

import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;

import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Clients on kernel sockets that send some thousand requests per second to an echo server. Some open a connection
 * per request, others use a connection for many requests. Every refused, reset or ended connection is recorded as
 * a failure.
 */
final class RequestLoad implements AutoCloseable {
    private static final int SHORT_CLIENTS = 4;
    private static final int LONG_CLIENTS = 4;
    private static final int REQUESTS_OF_LONG = 500;
    /** Without a pause, the clients would take all processors from the starting JVM. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final NetworkNamespace namespace;
    private final String address;
    private final int port;
    private final List<Thread> threads = new ArrayList<>();
    private final AtomicLong requests = new AtomicLong();
    private final AtomicLong connections = new AtomicLong();
    private final Queue<String> failures = new ConcurrentLinkedQueue<>();
    private volatile boolean ending;

    private RequestLoad(NetworkNamespace namespace, String address, int port) {
        this.namespace = namespace;
        this.address = address;
        this.port = port;
    }

    static RequestLoad start(NetworkNamespace namespace, String address, int port) {
        RequestLoad load = new RequestLoad(namespace, address, port);
        for (int i = 0; i < SHORT_CLIENTS + LONG_CLIENTS; i++) {
            int requestsOfEach = i < SHORT_CLIENTS ? 1 : REQUESTS_OF_LONG;
            load.threads.add(Thread.ofPlatform().daemon().start(() -> load.ask(requestsOfEach)));
        }
        return load;
    }

    private void ask(int requestsOfEach) {
        while (!ending) {
            long number = connections.incrementAndGet();
            int asked = 0;
            try (Socket socket = TcpHost.socket(namespace, address, port)) {
                socket.setTcpNoDelay(true);
                for (; asked < requestsOfEach && !ending; asked++) {
                    TcpHost.exchange(socket, "request " + asked + " of connection " + number);
                    requests.incrementAndGet();
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            } catch (IOException e) {
                failures.add("request " + asked + " of connection " + number + ": " + e);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            } catch (AssertionError e) {
                failures.add("request " + asked + " of connection " + number + ": " + e.getMessage());
            }
        }
    }

    long requests() {
        return requests.get();
    }

    List<String> failures() {
        return List.copyOf(failures);
    }

    /** Waits for {@code count} more responses. */
    void awaitMore(long count) {
        long wanted = requests.get() + count;
        Await.until(count + " more requests", () -> requests.get() >= wanted);
    }

    @Override
    public void close() {
        end();
    }

    /** Stops sending requests and waits for the outstanding responses. */
    void end() {
        ending = true;
        for (Thread thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
