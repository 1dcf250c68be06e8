package io.rdmaraw.channel;

import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.net.SocketAddress;
import java.util.List;
import java.util.Objects;

/**
 * What a {@link RdmaRawChannel} binds to: a device, a port of it, and the flows whose frames the channel receives.
 *
 * <p>Devices are named as {@code ./rdma-raw devinfo} lists them: {@code soft:loop} and {@code soft:loop:NAME} need no
 * hardware, {@code mlx5_0} is an RDMA device, and the name of a Linux network device stands for the RDMA device behind
 * it.
 */
public final class RdmaRawAddress extends SocketAddress {
    private static final long serialVersionUID = 1;

    private final String deviceName;
    private final int portNumber;
    private final transient List<FlowSpec> flows;

    private RdmaRawAddress(String deviceName, int portNumber, List<FlowSpec> flows) {
        this.deviceName = deviceName;
        this.portNumber = portNumber;
        this.flows = flows;
    }

    /**
     * Returns an address on port 1 of a device.
     *
     * @param flows what the channel receives; none for a channel that only sends
     */
    public static RdmaRawAddress of(String deviceName, FlowSpec... flows) {
        return of(deviceName, 1, flows);
    }

    /**
     * Returns an address.
     *
     * @param portNumber the port, counted from 1
     * @param flows what the channel receives; none for a channel that only sends
     */
    public static RdmaRawAddress of(String deviceName, int portNumber, FlowSpec... flows) {
        ObjectUtil.checkNonEmpty(deviceName, "deviceName");
        ObjectUtil.checkInRange(portNumber, 1, 255, "portNumber");
        return new RdmaRawAddress(deviceName, portNumber, List.of(flows));
    }

    /** Returns the device's name. */
    public String deviceName() {
        return deviceName;
    }

    /** Returns the port of the device, counted from 1. */
    public int portNumber() {
        return portNumber;
    }

    /** Returns the flows; empty for a channel that only sends. */
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
        return deviceName + "/" + portNumber + flows;
    }
}
