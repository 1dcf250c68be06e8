package io.rdmaraw.channel;

import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.channel.loop.LoopQueues;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.net.SocketAddress;
import java.util.List;
import java.util.Objects;

/**
 * The local address of a {@link RdmaRawChannel}: a device, one of its ports, and the flows that the channel receives.
 * Immutable.
 *
 * {@snippet :
 * channel.bind(RdmaRawAddress.of("soft:loop", FlowSpec.parse("ip4 udp dst-port 4789")));
 * }
 *
 * <p>Device names are those listed by {@code ./rdma-raw devinfo}:
 *
 * <ul>
 * <li>{@code soft:loop} and {@code soft:loop:NAME} are devices in memory that need no hardware.
 * <li>{@code soft:xdp:eth0} and {@code soft:packet:eth0} use a Linux network interface through AF_XDP or AF_PACKET.
 * <li>{@code mlx5_0} is an RDMA device. The name of a Linux network interface selects the RDMA device of that
 *     interface.
 * </ul>
 */
public final class RdmaRawAddress extends SocketAddress {
    private static final long serialVersionUID = 1;

    /** The port number that stands for {@link io.rdmaraw.verbs.objects.VerbsContext#ownPort()}. */
    static final int OWN_PORT = LoopQueues.OWN_PORT;

    private final String deviceName;
    private final int portNumber;
    private final transient List<FlowSpec> flows;

    private RdmaRawAddress(String deviceName, int portNumber, List<FlowSpec> flows) {
        this.deviceName = deviceName;
        this.portNumber = portNumber;
        this.flows = flows;
    }

    /**
     * Returns an address on the port of a device that is connected to the network. In switchdev mode it is
     * the port of the uplink.
     *
     * @param deviceName name of the device, not empty
     * @param flows flows that the channel receives; none for a channel that only sends
     */
    public static RdmaRawAddress of(String deviceName, FlowSpec... flows) {
        return of(deviceName, OWN_PORT, flows);
    }

    /**
     * Returns an address on a given port of a device.
     *
     * @param deviceName name of the device, not empty
     * @param portNumber port of the device, 1 to 255; 0 for the one that is connected to the network
     * @param flows flows that the channel receives; none for a channel that only sends
     */
    public static RdmaRawAddress of(String deviceName, int portNumber, FlowSpec... flows) {
        ObjectUtil.checkNonEmpty(deviceName, "deviceName");
        ObjectUtil.checkInRange(portNumber, OWN_PORT, 255, "portNumber");
        return new RdmaRawAddress(deviceName, portNumber, List.of(flows));
    }

    /** Returns the device's name. */
    public String deviceName() {
        return deviceName;
    }

    /** Returns the port of the device, from 1, or 0 for the one that is connected to the network. */
    public int portNumber() {
        return portNumber;
    }

    /** Returns the flows that the channel receives; empty for a channel that only sends. */
    public List<FlowSpec> flows() {
        return flows;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RdmaRawAddress that && portNumber == that.portNumber
                && deviceName.equals(that.deviceName) && Objects.equals(flows, that.flows);
    }

    @Override
    public int hashCode() {
        return Objects.hash(deviceName, portNumber, flows);
    }

    @Override
    public String toString() {
        return deviceName + (portNumber == OWN_PORT ? "" : "/" + portNumber) + flows;
    }
}
