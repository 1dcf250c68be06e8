package io.rdmaraw.device;

/**
 * The owner of a rule that several loops share. It joins a loop to the rule when the loop receives the first
 * frame of the rule.
 */
public interface RssFlowOwner {
    /** Called on a loop that has received a frame of the rule. The loop may already have joined. */
    void joinRule(DeviceQueue deviceQueue);
}
