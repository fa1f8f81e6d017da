export { nearestName } from "../model/nearest.ts";
