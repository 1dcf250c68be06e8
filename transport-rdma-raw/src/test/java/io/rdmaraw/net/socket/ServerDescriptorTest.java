package io.rdmaraw.net.socket;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import static org.junit.jupiter.api.Assertions.assertTrue;

@Timeout(60)
class ServerDescriptorTest {
    private static final int SERVERS = 4;
    private static final int ROUNDS = 500;

    /** The loops of servers that share a port open their sockets concurrently. */
    @Test
    void concurrentlyOpenedServersAreDistinguished() throws Exception {
        CyclicBarrier together = new CyclicBarrier(SERVERS);
        Callable<Integer> opening = () -> {
            int unknown = 0;
            for (int i = 0; i < ROUNDS; i++) {
                together.await();
                try (ServerSocketChannel socket = ServerSocketChannel.open()) {
                    unknown += ServerDescriptor.find(socket) < 0 ? 1 : 0;
                }
            }
            return unknown;
        };
        try (ExecutorService threads = Executors.newFixedThreadPool(SERVERS)) {
            List<Future<Integer>> all = new ArrayList<>();
            for (int i = 0; i < SERVERS; i++) {
                all.add(threads.submit(opening));
            }
            for (Future<Integer> each : all) {
                int unknown = each.get();
                assertTrue(unknown == 0, () -> unknown + " of " + ROUNDS + " were not found");
            }
        }
    }
}
