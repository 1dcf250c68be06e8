package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.port.PortInterfaces;
import java.util.Map;
import java.util.Set;

/**
 * Checks whether a device supports the features that the transport requires: raw-packet queue pairs, and flow
 * rules with a tag that is reported with each frame. Devices do not announce these features, so the probe creates a
 * queue pair and a rule.
 */
public final class RawPacketProbe {
    private static final int ENTRIES = 64;
    /**
     * A rule that matches no real traffic: the address is unused and the EtherType is reserved for experiments
     * (IEEE 802).
     */
    private static final FlowSpec RULE = FlowSpec.builder().destinationMac(0x02726177ffffL, 0xffffffffffffL)
            .etherType(0x88b5).tag(1).build();
    /** Error numbers by which the kernel and rdma-core providers report an unsupported feature. */
    private static final Set<Integer> UNSUPPORTED = Set.of(Errno.EINVAL, Errno.EOPNOTSUPP, Errno.ENOSYS,
            Errno.EPROTONOSUPPORT);
    private static final String IRDMA = "irdma has no queue pairs for raw packets";
    /** Explanations by kernel driver. */
    private static final Map<String, String> REASONS = Map.of(
            "mlx4_core", "mlx4 has neither tags nor IPv6 in its rules",
            "mana", "MANA has no rules, and its queue pairs for raw packets only work with rings that a program writes",
            "bnxt_en", "completions of bnxt_re carry no tags",
            "ice", IRDMA, "i40e", IRDMA, "idpf", IRDMA);
    /** Drivers that accept a rule with a tag but never report the tag. The probe cannot detect this. */
    private static final Set<String> TAGLESS = Set.of("bnxt_en");

    private RawPacketProbe() {
    }

    /**
     * Checks the device of a context.
     *
     * @throws VerbsException if the device lacks a feature; the message names it and suggests a device that
     *         works
     */
    public static void check(VerbsContext context) {
        String driver = PortInterfaces.ofHost().driverOf(context.providerDeviceName());
        if (driver != null && TAGLESS.contains(driver)) {
            throw refusal(context, driver, "ibv_poll_cq", Errno.EOPNOTSUPP, "");
        }
        try (ProtectionDomain domain = context.allocateProtectionDomain();
                CompletionQueue completions = context.createCompletionQueue(ENTRIES, null, 0);
                QueuePair queuePair = domain.createQueuePair(QueuePairOptions.builder().completionQueue(completions)
                        .maxSendWr(ENTRIES).maxReceiveWr(ENTRIES).selfLoopback(false).build())) {
            queuePair.toInit(context.ownPort());
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
        String interfaceName = context.interfaceName(context.ownPort());
        String reason = driver == null ? null : REASONS.get(driver);
        return new VerbsException(call, errno, context.deviceName() + " cannot carry this transport, which needs queue"
                + " pairs for raw packets and flow rules with tags, as mlx5 devices have them" + how
                + (reason == null ? "" : ": " + reason) + "; use soft:xdp:"
                + (interfaceName == null ? "NETDEV" : interfaceName) + " (AF_XDP) on its network interface");
    }
}
