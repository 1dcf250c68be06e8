package io.rdmaraw.tools.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reports the frames that a card has dropped. It counts them for all programs, also for those that have ended. */
final class LossChecks {
    private static final Pattern PORT_DISCARDS = Pattern.compile("^\\s*rx_discards_phy: (\\d+)", Pattern.MULTILINE);
    private static final String SUBJECT = "lost frames";

    private LossChecks() {
    }

    /**
     * Runs the checks.
     *
     * @param outOfBuffer frames for which no receive was posted
     * @param statistics  output of {@code ethtool -S}
     */
    static List<Finding> check(long outOfBuffer, String statistics) {
        List<Finding> findings = new ArrayList<>();
        if (outOfBuffer > 0) {
            findings.add(Finding.warn(SUBJECT, outOfBuffer + " frames found no posted receive (out_of_buffer, of all"
                    + " programs)",
                    "a larger receiveQueueDepth, for the longest pause of a loop; more loops"));
        }
        Matcher discards = PORT_DISCARDS.matcher(statistics);
        boolean isKnown = discards.find();
        if (isKnown && Long.parseLong(discards.group(1)) > 0) {
            findings.add(Finding.warn(SUBJECT, discards.group(1) + " frames arrived while the buffer of the port was"
                    + " full (rx_discards_phy, of all programs)",
                    "a PCIe slot with more lanes (LnkSta in lspci -vv); pause frames (ethtool -A NETDEV tx on)"));
        }
        return findings.isEmpty() ? List.of(Finding.ok(SUBJECT, isKnown ? "none"
                : "every frame found a posted receive (rx_discards_phy of ethtool -S is not known)")) : findings;
    }
}
