package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.VerbsContextLayout;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.port.PortMacAddress;
import java.lang.foreign.Arena;

/**
 * An installed flow rule ({@code struct ibv_flow}). Closing it removes the rule. Its frames then go to the next
 * rule that matches, or to the kernel.
 */
public final class Flow extends VerbsObject {
    /** A creation flag of softverbs ({@code softverbs.h}). Other providers reject it. */
    private static final int SOFTVERBS_FLOW_ACCEPTS_GSO = 1 << 31;

    private final QueuePair queuePair;
    private final FlowSpec spec;
    /** The registration of the rule's destination address with the port, or null if the port needs none. */
    private final PortMacAddress destinationMac;

    private Flow(QueuePair queuePair, FlowSpec spec, long flow, PortMacAddress destinationMac) {
        super(queuePair.lifecycle, flow, queuePair);
        this.queuePair = queuePair;
        this.spec = spec;
        this.destinationMac = destinationMac;
    }

    static Flow create(QueuePair queuePair, FlowSpec spec) {
        long function = queuePair.context.requiredExtension(VerbsContextLayout.IBV_CREATE_FLOW_OFFSET,
                "ibv_create_flow");
        int port = spec.devicePort() != 0 ? spec.devicePort() : queuePair.port();
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(spec.encodedBytes(), Long.BYTES).address();
            spec.writeTo(attr);
            NativeMemory.putByte(attr + FlowAttrLayout.PORT_OFFSET, (byte) port);
            if (spec.acceptsGso() && queuePair.context.library.addDevice != 0) {
                NativeMemory.putInt(attr + FlowAttrLayout.FLAGS_OFFSET,
                        NativeMemory.getInt(attr + FlowAttrLayout.FLAGS_OFFSET) | SOFTVERBS_FLOW_ACCEPTS_GSO);
            }
            long flow = NativeCall.pointer(function, queuePair.nativeAddress(), attr);
            if (NativeCall.isError(flow)) {
                throw refusal((int) -flow, spec, queuePair.context.library.flowError());
            }
            return new Flow(queuePair, spec, flow, destinationMacOf(queuePair.context, spec, port));
        }
    }

    private static VerbsException refusal(int errno, FlowSpec spec, String reason) {
        return reason.isEmpty() ? VerbsException.of("ibv_create_flow", errno, spec.toString())
                : VerbsException.explained("ibv_create_flow", errno, "ibv_create_flow (" + spec + ") failed", reason);
    }

    private static PortMacAddress destinationMacOf(VerbsContext context, FlowSpec spec, int port) {
        boolean hasList = !new DeviceName(context.deviceName()).isSoftware();
        return hasList && spec.destinationMac() != FlowSpec.NO_MAC
                ? PortMacAddress.acquire(context.providerDeviceName(), port, spec.destinationMac()) : null;
    }

    /**
     * Returns why the port may not receive frames for the rule's destination MAC address, or null if it does. The text
     * is the same for all such rules on a port.
     */
    public String addressProblem() {
        return destinationMac == null ? null : destinationMac.problem();
    }

    /** Returns the rule. */
    public FlowSpec spec() {
        return spec;
    }

    /** Returns the queue pair that receives the frames. */
    public QueuePair queuePair() {
        return queuePair;
    }

    @Override
    int destroy(long flow) {
        if (destinationMac != null) {
            destinationMac.release();
        }
        return NativeCall.status(queuePair.context.requiredExtension(VerbsContextLayout.IBV_DESTROY_FLOW_OFFSET,
                "ibv_destroy_flow"), flow);
    }

    @Override
    String destroyCall() {
        return "ibv_destroy_flow";
    }

    @Override
    public String toString() {
        return "Flow(" + spec + " to queue pair " + queuePair.number() + (isClosed() ? ", closed)" : ")");
    }
}
