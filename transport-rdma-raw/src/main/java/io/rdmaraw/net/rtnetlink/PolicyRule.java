package io.rdmaraw.net.rtnetlink;

import io.rdmaraw.net.Route;

/**
 * A policy rule ({@code ip rule}), which selects the routing table for packets.
 *
 * @param family            2 for IPv4, 10 for IPv6
 * @param priority          lower values are evaluated first
 * @param table             the routing table
 * @param action            the action; 1 is the lookup in the table
 * @param matchesAllPackets whether the rule applies to all packets
 * @param attributes        hash of all attributes, to distinguish rules
 */
record PolicyRule(int family, int priority, int table, int action, boolean matchesAllPackets, int attributes) {
    private static final int FR_ACT_TO_TBL = 1;
    private static final int LOCAL_PRIORITY = 0;
    private static final int MAIN_PRIORITY = 32766;
    private static final int DEFAULT_PRIORITY = 32767;
    private static final int DEFAULT_TABLE = 253;

    /**
     * Returns whether this is one of the three default rules: all packets use the local, main and default
     * tables.
     */
    boolean isStandard() {
        return matchesAllPackets && action == FR_ACT_TO_TBL && switch (priority) {
            case LOCAL_PRIORITY -> table == Route.LOCAL_TABLE;
            case MAIN_PRIORITY -> table == Route.MAIN_TABLE;
            case DEFAULT_PRIORITY -> table == DEFAULT_TABLE;
            default -> false;
        };
    }
}
