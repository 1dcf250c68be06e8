package io.rdmaraw.tools.doctor;

import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.PortAttributes;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.RawPacketProbe;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.softverbs.Softverbs;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/** Opens the device and a raw-packet queue pair. If this succeeds, the other checks do not matter. */
final class OpenCheck {
    private static final int ENTRIES = 64;
    /**
     * Maximum time to wait for a link. Some drivers reset the card when a program is attached, and the link needs
     * seconds to return.
     */
    private static final long LINK_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(8);
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private OpenCheck() {
    }

    static List<Finding> check(String device) {
        List<Finding> findings = new ArrayList<>();
        try (VerbsContext context = VerbsDevices.open(device)) {
            findings.add(Finding.ok("open", device + " can be opened"));
            String mode = Softverbs.modeOf(context);
            if (!mode.isEmpty()) {
                findings.add(Finding.ok("mode", mode));
            }
            int ports = context.queryDeviceExtended().ports();
            for (int port = 1; port <= ports; port++) {
                int number = port;
                findings.add(port(port, () -> context.queryPort(number), LINK_PATIENCE_NANOS));
            }
            if (!new DeviceName(device).isSoftware()) {
                RawPacketProbe.check(context);
                findings.add(Finding.ok("rules", "flow rules with tags can be made"));
            }
            findings.add(queuePair(context));
        } catch (VerbsException e) {
            findings.add(Finding.fail("open", e.getMessage(), "see the other findings"));
        }
        return findings;
    }

    /** Waits until the port is active or the time is over. */
    static Finding port(int port, Supplier<PortAttributes> query, long patienceNanos) {
        PortAttributes attributes = query.get();
        for (long end = System.nanoTime() + patienceNanos; !attributes.isActive() && System.nanoTime() - end < 0;) {
            LockSupport.parkNanos(LOOK_NANOS);
            attributes = query.get();
        }
        if (attributes.linkLayer() == PortAttributes.LINK_LAYER_INFINIBAND) {
            return Finding.fail("port " + port, "is an InfiniBand port, which carries no Ethernet frames",
                    "set it to Ethernet (mlxconfig LINK_TYPE_P1=2)");
        }
        return attributes.isActive() ? Finding.ok("port " + port, "is active")
                : Finding.fail("port " + port, "has no link (state " + attributes.state() + ')',
                        "bring its network device up and check the cable");
    }

    private static Finding queuePair(VerbsContext context) {
        try (ProtectionDomain domain = context.allocateProtectionDomain();
                CompletionQueue completions = context.createCompletionQueue(ENTRIES, null, 0);
                QueuePair queuePair = domain.createQueuePair(QueuePairOptions.builder().completionQueue(completions)
                        .maxSendWr(ENTRIES).maxReceiveWr(ENTRIES).build())) {
            queuePair.toInit(1);
            queuePair.toReadyToReceive();
            queuePair.toReadyToSend();
            return Finding.ok("queue pair", "a raw-packet queue pair is ready to send");
        } catch (VerbsException e) {
            return Finding.fail("queue pair", e.getMessage(), "see the other findings; devices that carry the"
                    + " transport are those of mlx5, and soft: devices");
        }
    }
}
