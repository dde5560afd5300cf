// The part of the state that the snapshot holds too, in the snapshot's own words.
export function standing(state) {
  const prompt = (id) => {
    const turn = state.turns.get(id);
    return {
      client_message_id: turn.messageId,
      turn_id: id,
      text: turn.prompt,
      route: turn.askedRoute,
      origin: turn.origin,
      ...(turn.deviceId ? { device_id: turn.deviceId } : {}),
    };
  };
  const running = state.running && state.turns.get(state.running);
  return {
    turn: running
      ? {
          turn_id: running.id,
          client_message_id: running.messageId,
          started_at: running.startedAt,
          open_calls: running.endedAt ? [] : openCalls(running),
        }
      : null,
    queue: state.queue.map(prompt),
    policy_level: state.policyLevel,
    remembered_tools: [...state.remembered].sort(),
    pending: [...state.pending.keys()],
    title: state.title,
  };
}

const openCalls = (turn) =>
  turn.parts.filter((part) => part.kind === "call" && !part.call.status).map((part) => part.call.id);
