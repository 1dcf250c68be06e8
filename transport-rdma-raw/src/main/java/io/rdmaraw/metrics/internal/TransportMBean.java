package io.rdmaraw.metrics.internal;

import io.rdmaraw.metrics.RdmaRawLoopStatistics;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawMetric.Scope;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;

import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanException;
import javax.management.MBeanInfo;
import javax.management.ObjectName;
import javax.management.ReflectionException;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.CompositeDataSupport;
import javax.management.openmbean.CompositeType;
import javax.management.openmbean.OpenDataException;
import javax.management.openmbean.OpenType;
import javax.management.openmbean.SimpleType;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * All metrics of the process in one MBean. {@code Loops}, {@code Queues} and {@code Channels} have one row per
 * loop, queue and channel. {@code Devices} has one row per device with the counters of the whole device.
 * {@code Sockets} has one row per TCP listener and for each of the busiest connections. Rows are created on
 * each read.
 */
final class TransportMBean implements DynamicMBean {
    static final String OBJECT_NAME = "io.rdmaraw:type=Transport";
    private static final List<String> ATTRIBUTES = List.of("Loops", "Queues", "Devices", "Channels", "Sockets");

    /**
     * Registers the bean.
     *
     * @return its name. It ends with a number if another class loader of the process has a copy of the transport
     */
    static String register() throws JMException {
        String name = OBJECT_NAME;
        for (int copy = 2;; copy++) {
            try {
                ManagementFactory.getPlatformMBeanServer().registerMBean(new TransportMBean(), new ObjectName(name));
                return name;
            } catch (InstanceAlreadyExistsException e) {
                name = OBJECT_NAME + ",copy=" + copy;
            }
        }
    }

    /** Returns whether a copy of the transport in this process has a bean. */
    static boolean isAnyRegistered() throws JMException {
        return !ManagementFactory.getPlatformMBeanServer().queryNames(new ObjectName(OBJECT_NAME + ",*"), null)
                .isEmpty();
    }

    static void unregister(String name) throws JMException {
        ManagementFactory.getPlatformMBeanServer().unregisterMBean(new ObjectName(name));
    }

    @Override
    public Object getAttribute(String attribute) throws AttributeNotFoundException, MBeanException {
        try {
            return switch (attribute) {
                case "Loops" -> loops();
                case "Queues" -> queues();
                case "Devices" -> devices();
                case "Channels" -> channels();
                case "Sockets" -> SocketRows.read();
                default -> throw new AttributeNotFoundException(attribute);
            };
        } catch (OpenDataException e) {
            throw new MBeanException(e);
        }
    }

    private static CompositeData[] loops() throws OpenDataException {
        List<CompositeData> rows = new ArrayList<>();
        for (RdmaRawLoopStatistics loop : RdmaRawMetrics.loops()) {
            rows.add(row(Map.of("loop", loop.name()), loop, Scope.OWN, Map.of()));
        }
        return rows.toArray(CompositeData[]::new);
    }

    private static CompositeData[] queues() throws OpenDataException {
        List<CompositeData> rows = new ArrayList<>();
        for (RdmaRawLoopStatistics loop : RdmaRawMetrics.loops()) {
            for (RdmaRawQueueStatistics queue : loop.queues()) {
                Map<String, Long> fills = new LinkedHashMap<>();
                for (int n = 0; n < 7; n++) {
                    fills.put("work:fill." + (1 << n), queue.burstsOfFill(n));
                }
                rows.add(row(Map.of("loop", loop.name(), "device", queue.deviceName(), "port",
                        Integer.toString(queue.portNumber())), queue, Scope.OWN, fills));
            }
        }
        return rows.toArray(CompositeData[]::new);
    }

    private static CompositeData[] devices() throws OpenDataException {
        Map<String, RdmaRawQueueStatistics> named = new LinkedHashMap<>();
        for (RdmaRawLoopStatistics loop : RdmaRawMetrics.loops()) {
            loop.queues().forEach(queue -> named.putIfAbsent(queue.deviceName(), queue));
        }
        List<CompositeData> rows = new ArrayList<>();
        for (RdmaRawQueueStatistics queue : named.values()) {
            rows.add(row(Map.of("device", queue.deviceName()), queue, Scope.DEVICE, Map.of()));
        }
        return rows.toArray(CompositeData[]::new);
    }

    private static CompositeData[] channels() throws OpenDataException {
        List<CompositeData> rows = new ArrayList<>();
        for (RdmaRawLoopStatistics loop : RdmaRawMetrics.loops()) {
            for (RdmaRawQueueStatistics queue : loop.queues()) {
                for (Map.Entry<String, RdmaRawMetered> channel : queue.channels().entrySet()) {
                    rows.add(row(Map.of("loop", loop.name(), "device", queue.deviceName(), "channel",
                            channel.getKey()), channel.getValue(), Scope.OWN, Map.of()));
                }
            }
        }
        return rows.toArray(CompositeData[]::new);
    }

    /** Items are named {@code kind:name}, since the same reason may occur for drops and copies. */
    private static CompositeData row(Map<String, String> names, RdmaRawMetered metered, Scope scope,
            Map<String, Long> more) throws OpenDataException {
        Map<String, Object> values = new LinkedHashMap<>(names);
        for (RdmaRawMetric metric : metered.metrics()) {
            if (metric.scope() == scope) {
                values.put(metric.kind().name().toLowerCase(java.util.Locale.ROOT) + ':' + metric.name(),
                        metered.value(metric));
            }
        }
        values.putAll(more);
        return row(metered.getClass().getSimpleName(), values);
    }

    /**
     * @param values texts and counters
     */
    static CompositeData row(String type, Map<String, Object> values) throws OpenDataException {
        String[] keys = values.keySet().toArray(String[]::new);
        OpenType<?>[] types = values.values().stream().map(value -> value instanceof Long ? SimpleType.LONG
                : SimpleType.STRING).toArray(OpenType<?>[]::new);
        return new CompositeDataSupport(new CompositeType(type, "counts", keys, keys, types), values);
    }

    @Override
    public AttributeList getAttributes(String[] names) {
        AttributeList list = new AttributeList();
        for (String name : names) {
            try {
                list.add(new Attribute(name, getAttribute(name)));
            } catch (AttributeNotFoundException | MBeanException e) {
                // The contract of this method is to omit attributes that cannot be read.
            }
        }
        return list;
    }

    @Override
    public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
        throw new AttributeNotFoundException(attribute.getName() + " can only be read");
    }

    @Override
    public AttributeList setAttributes(AttributeList attributes) {
        return new AttributeList();
    }

    @Override
    public Object invoke(String action, Object[] arguments, String[] signature) throws ReflectionException {
        return CaptureOperations.invoke(action, arguments);
    }

    @Override
    public MBeanInfo getMBeanInfo() {
        MBeanAttributeInfo[] attributes = ATTRIBUTES.stream().map(name -> new MBeanAttributeInfo(name,
                CompositeData[].class.getName(), "one row for each", true, false, false))
                .toArray(MBeanAttributeInfo[]::new);
        return new MBeanInfo(TransportMBean.class.getName(), "What the transport has counted", attributes, null,
                CaptureOperations.describe(), null);
    }
}
