package io.rdmaraw.tcp.stack.port;

import io.netty.channel.embedded.EmbeddedChannel;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.verbs.flow.FlowSpec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

class TimeWaitPortsTest {
    private static final long DURATION_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int MAX_PORTS = 4;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final AtomicInteger overflows = new AtomicInteger();
    private final AtomicInteger portsOfProcess = new AtomicInteger();
    private final TimeWaitPorts ports = newPorts();

    @AfterEach
    void closeChannel() {
        channel.close();
    }

    @Test
    void oldestPortIsReleasedEarlyIfThePortsHaveTooManyDescriptors() {
        List<Port> added = addNewPorts(ports, MAX_PORTS + 2);
        assertEquals(List.of(1, 1, 0, 0, 0, 0), closings(added));
        assertEquals(2, overflows.get());
    }

    @Test
    void limitCountsThePortsOfAllStacks() {
        TimeWaitPorts other = newPorts();
        List<Port> added = addNewPorts(ports, MAX_PORTS);
        List<Port> addedToOther = addNewPorts(other, 1);
        assertEquals(List.of(1), closings(addedToOther));
        ports.close();
        assertEquals(List.of(1, 1, 1, 1), closings(added));
        assertEquals(List.of(0), closings(addNewPorts(other, 1)));
    }

    @Test
    void portThatIsUsedAgainDoesNotCount() {
        List<Port> added = addNewPorts(ports, MAX_PORTS);
        assertNotNull(ports.acquire(port -> true));
        added.addAll(addNewPorts(ports, 1));
        assertEquals(List.of(0, 0, 0, 0, 0), closings(added));
        assertEquals(0, overflows.get());
    }

    @Test
    void portsThatHaveExpiredDoNotCount() {
        channel.freezeTime();
        List<Port> added = addNewPorts(ports, MAX_PORTS);
        channel.advanceTimeBy(DURATION_NANOS, TimeUnit.NANOSECONDS);
        channel.runScheduledPendingTasks();
        assertEquals(List.of(1, 1, 1, 1), closings(added));
        assertEquals(List.of(0, 0, 0, 0), closings(addNewPorts(ports, MAX_PORTS)));
    }

    private TimeWaitPorts newPorts() {
        return new TimeWaitPorts(channel.eventLoop(), overflows::incrementAndGet, portsOfProcess, MAX_PORTS);
    }

    private static List<Port> addNewPorts(TimeWaitPorts ports, int count) {
        List<Port> added = new ArrayList<>();
        IntStream.range(0, count).forEach(i -> {
            Port port = new Port();
            port.recordTimeWait(DURATION_NANOS);
            port.release(ports);
            added.add(port);
        });
        return added;
    }

    private static List<Integer> closings(List<Port> ports) {
        return ports.stream().map(port -> port.binding.closings).toList();
    }

    private static final class Port extends TcpPort {
        private final Binding binding;

        Port() {
            this(new Binding());
        }

        private Port(Binding binding) {
            super(binding);
            this.binding = binding;
        }

        @Override
        protected void removeRules() {
        }
    }

    private static final class Binding implements TcpNetwork.Binding {
        private int closings;

        @Override
        public IpAddress local() {
            return IpAddress.LOOPBACK_IPV4;
        }

        @Override
        public int port() {
            return 1;
        }

        @Override
        public List<FlowSpec> flows() {
            return List.of();
        }

        @Override
        public void close() {
            closings++;
        }
    }
}
