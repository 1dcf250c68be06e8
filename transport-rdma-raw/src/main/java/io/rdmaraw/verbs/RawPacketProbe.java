package io.rdmaraw.verbs;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.net.rdma.PortInterfaces;
import io.rdmaraw.verbs.flow.FlowSpec;
import java.util.Map;
import java.util.Set;

/**
 * Finds out whether a device can do what the transport stands on: queue pairs for raw packets, and flow rules whose tag
 * comes with each frame. Devices announce neither, so both are made and closed again.
 */
public final class RawPacketProbe {
    private static final int ENTRIES = 64;
    private static final int FIRST_PORT = 1;
    /** No port has this address, and the EtherType is one for experiments (IEEE 802). */
    private static final FlowSpec RULE = FlowSpec.builder().destinationMac(0x02726177ffffL, 0xffffffffffffL)
            .etherType(0x88b5).tag(1).build();
    /** What the kernel and the providers of rdma-core say when they do not know what is asked for. */
    private static final Set<Integer> UNSUPPORTED = Set.of(Errno.EINVAL, Errno.EOPNOTSUPP, Errno.ENOSYS,
            Errno.EPROTONOSUPPORT);
    private static final String IRDMA = "irdma has no queue pairs for raw packets";
    /** Why, by the kernel's driver of the device. */
    private static final Map<String, String> REASONS = Map.of(
            "mlx4_core", "mlx4 has neither tags nor IPv6 in its rules",
            "mana", "MANA has no rules, and its queue pairs for raw packets only work with rings that a program writes",
            "bnxt_en", "completions of bnxt_re carry no tags",
            "ice", IRDMA, "i40e", IRDMA, "idpf", IRDMA);
    /** Those of which no probe tells: the rule can be made, and its tag never comes. */
    private static final Set<String> TAGLESS = Set.of("bnxt_en");

    private RawPacketProbe() {
    }

    /** @throws VerbsException when the device cannot carry the transport, or something is missing on this host */
    public static void check(VerbsContext context) {
        String driver = PortInterfaces.ofHost().driverOf(context.providerDeviceName());
        if (driver != null && TAGLESS.contains(driver)) {
            throw refusal(context, driver, "ibv_poll_cq", Errno.EOPNOTSUPP, "");
        }
        try (ProtectionDomain domain = context.allocateProtectionDomain();
                CompletionQueue completions = context.createCompletionQueue(ENTRIES, null, 0);
                QueuePair queuePair = domain.createQueuePair(QueuePairOptions.builder().completionQueue(completions)
                        .maxSendWr(ENTRIES).maxReceiveWr(ENTRIES).selfLoopback(false).build())) {
            queuePair.toInit(FIRST_PORT);
            queuePair.toReadyToReceive();
            queuePair.createFlow(RULE).close();
        } catch (VerbsException e) {
            if (UNSUPPORTED.contains(e.errno())) {
                throw refusal(context, driver, e.call(), e.errno(), " (" + e.call() + ": " + e.errnoName() + ')');
            }
            throw e;
        }
    }

    private static VerbsException refusal(VerbsContext context, String driver, String call, int errno, String how) {
        String interfaceName = context.interfaceName(FIRST_PORT);
        String reason = driver == null ? null : REASONS.get(driver);
        return new VerbsException(call, errno, context.deviceName() + " cannot carry this transport, which needs queue"
                + " pairs for raw packets and flow rules with tags, as mlx5 devices have them" + how
                + (reason == null ? "" : ": " + reason) + "; use soft:xdp:"
                + (interfaceName == null ? "NETDEV" : interfaceName) + " (AF_XDP) on its network interface");
    }
}
