package io.rdmaraw.tools.top;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import javax.management.StandardMBean;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.CompositeDataSupport;
import javax.management.openmbean.CompositeType;
import javax.management.openmbean.OpenDataException;
import javax.management.openmbean.OpenType;
import javax.management.openmbean.SimpleType;
import org.junit.jupiter.api.Test;

class SnapshotTest {
    /** The attributes of the transport's MBean. */
    public interface Beans {
        CompositeData[] getLoops();

        CompositeData[] getQueues();

        CompositeData[] getDevices();

        CompositeData[] getChannels();

        CompositeData[] getSockets();
    }

    private record Bean(String loop) implements Beans {
        @Override
        public CompositeData[] getLoops() {
            String[] keys = {"loop"};
            try {
                CompositeType type = new CompositeType("Row", "row", keys, keys, new OpenType<?>[] {SimpleType.STRING});
                return new CompositeData[] {new CompositeDataSupport(type, Map.of("loop", loop))};
            } catch (OpenDataException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public CompositeData[] getQueues() {
            return new CompositeData[0];
        }

        @Override
        public CompositeData[] getDevices() {
            return new CompositeData[0];
        }

        @Override
        public CompositeData[] getChannels() {
            return new CompositeData[0];
        }

        @Override
        public CompositeData[] getSockets() {
            return new CompositeData[0];
        }
    }

    private static List<String> loops(MBeanServer server) throws Exception {
        return Snapshot.read(server).loops().stream().map(row -> row.name("loop")).sorted().toList();
    }

    /** After a web application was deployed again, only the bean of the second copy is left. */
    @Test
    void beansOfAllCopiesOfTheTransportAreRead() throws Exception {
        MBeanServer server = MBeanServerFactory.newMBeanServer();
        ObjectName first = new ObjectName("io.rdmaraw:type=Transport");
        server.registerMBean(new StandardMBean(new Bean("a"), Beans.class, false), first);
        server.registerMBean(new StandardMBean(new Bean("b"), Beans.class, false),
                new ObjectName("io.rdmaraw:type=Transport,copy=2"));
        assertEquals(List.of("a", "b"), loops(server));
        server.unregisterMBean(first);
        assertEquals(List.of("b"), loops(server));
    }
}
